use std::ffi::CString;
use std::fs;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cuzk_sys as sys;

use crate::error::{check, Error};
use crate::version::check_abi;
use crate::Result;

/// A recording: when which partition waits, uploads and computes, on which worker
/// and device. <https://ui.perfetto.dev> and Chrome's `about:tracing` show its
/// file, and `cmd/cuzk-timeline` of the repository reads it. There is one
/// recording at a time in a process.
///
/// Dropping it stops the recording too, but tells no errors.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("timeline-%p.json");
/// let timeline = cuzk::Timeline::start(path)?;
/// let srs = cuzk::Srs::open("../../../tests/golden/one.params")?;
/// // ... prove ...
/// # drop(srs);
/// let json = timeline.stop_and_read()?;
/// assert!(json.starts_with('[') && json.ends_with("]\n"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the recording ends when this is dropped"]
pub struct Timeline {
    path: PathBuf,
}

impl Timeline {
    /// Starts a recording into a file, which is made or emptied. `%p` in the path
    /// stands for the number of the process. [`Error::Value`] if one is
    /// recording, [`Error::FileIo`] if the file cannot be made.
    pub fn start(path: impl AsRef<Path>) -> Result<Self> {
        check_abi()?;
        let path = path.as_ref().as_os_str().as_bytes();
        let path = CString::new(path)
            .map_err(|_| Error::Value(format!("{:?} holds a NUL byte", path.escape_ascii())))?;
        // SAFETY: the path ends in NUL and lives through the call.
        check(unsafe { sys::cuzk_timeline_start(path.as_ptr()) })?;
        Ok(Self {
            path: expand(path.as_bytes()),
        })
    }

    /// The file, with the number of the process in its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stops the recording and completes its file, whose path is returned.
    pub fn stop(mut self) -> Result<PathBuf> {
        let path = mem::take(&mut self.path);
        // The drop must not stop it again.
        mem::forget(self);
        // SAFETY: takes no arguments.
        check(unsafe { sys::cuzk_timeline_stop() })?;
        Ok(path)
    }

    /// Stops the recording and reads its file: a JSON array of Chrome's trace
    /// events.
    pub fn stop_and_read(self) -> Result<String> {
        let path = self.stop()?;
        fs::read_to_string(&path)
            .map_err(|error| Error::FileIo(format!("{}: {error}", path.display())))
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // SAFETY: takes no arguments. An error cannot be told to anyone.
        unsafe { sys::cuzk_timeline_stop() };
    }
}

/// The path with the number of the process, as the library makes it.
fn expand(path: &[u8]) -> PathBuf {
    let process = std::process::id().to_string();
    let mut parts = path.split(|byte| *byte == b'%');
    let mut expanded = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        match part.strip_prefix(b"p") {
            Some(rest) => {
                expanded.extend(process.as_bytes());
                expanded.extend(rest);
            }
            None => {
                expanded.push(b'%');
                expanded.extend(part);
            }
        }
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&expanded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_process_is_put_in() {
        let process = std::process::id();
        for (path, expanded) in [
            ("plain", "plain".to_owned()),
            ("%p", format!("{process}")),
            ("a/%p-%p.json", format!("a/{process}-{process}.json")),
            ("100%", "100%".to_owned()),
            ("%%p%q", format!("%{process}%q")),
        ] {
            assert_eq!(expand(path.as_bytes()), Path::new(&expanded), "{path}");
        }
    }
}
