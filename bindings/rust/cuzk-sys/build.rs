//! Says how to link libcuzk: an installed one, or one built here with Go.
//!
//! Order: `CUZK_LIB_DIR`, pkg-config, then the feature `bundled`, which
//! `CUZK_BUNDLED` overrules (1 = always build, 0 = never). Nothing is written
//! outside OUT_DIR; Go keeps its own caches where it always does.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Versions of an installed library that have the ABI of this crate.
const INSTALLED_VERSIONS: std::ops::Range<&str> = "0.1.0".."0.2.0";

/// What the Go sources are, seen from the root of the repository: a change of
/// any of them builds the library anew.
const SOURCES: [&str; 7] = [
    "capi", "cuda", "engine", "include", "internal", "go.mod", "go.sum",
];

fn main() {
    for name in ["CUZK_LIB_DIR", "CUZK_BUNDLED", "CUZK_LINK", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");

    // docs.rs has no Go and links nothing.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(dir) = env::var_os("CUZK_LIB_DIR") {
        return link_from(Path::new(&dir));
    }
    let bundled = bundled_wanted();
    if bundled != Bundled::Always {
        if let Some(dir) = installed() {
            return link_from(&dir);
        }
    }
    match bundled {
        Bundled::Never => panic!(
            "no libcuzk found: CUZK_LIB_DIR is not set, pkg-config knows no cuzk {} to {}, \
             and building it is turned off (feature `bundled`, or CUZK_BUNDLED=0)",
            INSTALLED_VERSIONS.start, INSTALLED_VERSIONS.end
        ),
        Bundled::Always | Bundled::IfNotInstalled => link_from(&build_library()),
    }
}

#[derive(PartialEq)]
enum Bundled {
    Always,
    IfNotInstalled,
    Never,
}

fn bundled_wanted() -> Bundled {
    match env::var("CUZK_BUNDLED").as_deref() {
        Ok("1") => Bundled::Always,
        Ok("0") => Bundled::Never,
        Ok("") | Err(env::VarError::NotPresent) => {
            match env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
                true => Bundled::IfNotInstalled,
                false => Bundled::Never,
            }
        }
        other => panic!("CUZK_BUNDLED must be 0 or 1, got {other:?}"),
    }
}

/// The folder of an installed library, as pkg-config knows it.
fn installed() -> Option<PathBuf> {
    const NAME: &str = "cuzk";
    pkg_config::Config::new()
        .range_version(INSTALLED_VERSIONS)
        .cargo_metadata(false)
        .probe(NAME)
        .ok()?;
    pkg_config::get_variable(NAME, "libdir")
        .ok()
        .map(PathBuf::from)
}

/// Links the library in a folder: the archive where there is one, unless
/// CUZK_LINK=dynamic.
fn link_from(dir: &Path) {
    let dynamic_wanted = match env::var("CUZK_LINK").as_deref() {
        Ok("dynamic") => true,
        Ok("static" | "") | Err(env::VarError::NotPresent) => false,
        other => panic!("CUZK_LINK must be `static` or `dynamic`, got {other:?}"),
    };
    println!("cargo:rustc-link-search=native={}", dir.display());
    // For build scripts of crates that depend on this one: DEP_CUZK_LIB_DIR.
    println!("cargo:lib_dir={}", dir.display());

    let archive = dir.join("libcuzk.a");
    if archive.is_file() && !dynamic_wanted {
        // The archive becomes part of this crate: another one must be linked anew.
        println!("cargo:rerun-if-changed={}", archive.display());
        println!("cargo:rustc-link-lib=static=cuzk");
        // What Go's runtime takes from the C library; part of libc itself from
        // glibc 2.34 on.
        for system in ["pthread", "dl"] {
            println!("cargo:rustc-link-lib={system}");
        }
        return;
    }
    assert!(
        dir.join("libcuzk.so").exists(),
        "{} holds neither libcuzk.a nor libcuzk.so",
        dir.display()
    );
    println!("cargo:rustc-link-lib=dylib=cuzk");
    // Reaches this package's own tests only; `cargo run` and `cargo test` of
    // others find a library under OUT_DIR by LD_LIBRARY_PATH, which cargo sets.
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", dir.display());
}

/// Builds the library under OUT_DIR and returns its folder.
fn build_library() -> PathBuf {
    let root = repository_root();
    refuse_cross_compiling();
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", root.join(source).display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("lib");
    let script = root.join("capi/build.sh");
    let status = Command::new(&script)
        .arg("static")
        .env("CUZK_BUILD_DIR", &out)
        .current_dir(&root)
        .status()
        .unwrap_or_else(|error| panic!("{} cannot be run: {error}", script.display()));
    assert!(
        status.success(),
        "{} failed ({status}): building libcuzk needs Go and a C compiler, see docs/rust.md; \
         CUZK_LIB_DIR names a folder with a built library",
        script.display()
    );
    out
}

/// The folder that holds capi, engine and go.mod.
fn repository_root() -> PathBuf {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    manifest
        .ancestors()
        .nth(3)
        .filter(|root| root.join("capi/build.sh").is_file())
        .map_or_else(
            || {
                panic!(
                "the sources of libcuzk are not three folders above {}: take cuzk-sys from the \
                 repository, or set CUZK_LIB_DIR",
                manifest.display()
            )
            },
            Path::to_owned,
        )
}

fn refuse_cross_compiling() {
    let (host, target) = (env::var("HOST"), env::var("TARGET"));
    assert!(
        host == target,
        "libcuzk is not built for another target ({target:?} on {host:?}): build it there and \
         set CUZK_LIB_DIR"
    );
}
