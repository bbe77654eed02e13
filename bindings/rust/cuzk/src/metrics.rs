use std::collections::BTreeMap;

use cuzk_sys as sys;

use crate::error::{check, Error};
use crate::prometheus::{parse, Sample};
use crate::version::check_abi;
use crate::Result;

/// Numbers of the library, counted since its first use.
///
/// ```
/// # fn main() -> cuzk::Result<()> {
/// let metrics = cuzk::metrics()?;
/// for device in &metrics.devices {
///     println!("{}: {} wait", device.device, device.waiting);
/// }
/// assert!(cuzk::metrics_text()?.contains("# TYPE cuzk_queue_length gauge"));
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Open parameter sets.
    pub parameter_sets: u64,
    /// Devices, used or not.
    pub devices: Vec<DeviceMetrics>,
}

/// Numbers of one device. Those about memory are zero for the CPU, and for a GPU
/// before its first use.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceMetrics {
    /// Back end and number in it: `cuda0`, `cpu0`.
    pub device: String,
    /// As the vendor calls it.
    pub name: String,
    /// Whether it takes partitions: not if it cannot be used, or is gone until the
    /// process is restarted.
    pub usable: bool,
    /// Workers that run.
    pub workers: u64,
    /// Partitions that wait for a worker.
    pub waiting: u64,
    /// Partitions that workers carry.
    pub carried: u64,
    /// Partitions that have ended, by outcome: `done`, `cancelled`,
    /// `unsatisfied`, `invalid`, `device_lost`, `failed`.
    pub partitions: BTreeMap<String, u64>,
    /// Time that partitions spent, by stage: `queue` and those of the timeline.
    pub stages: BTreeMap<String, Stage>,
    /// Device memory that may be used, context included.
    pub vram_budget_bytes: u64,
    /// Physical memory mapped for jobs and parameter sets.
    pub vram_mapped_bytes: u64,
    /// Device memory in use, by use: `fixed`, `jobs`, `fenced`, `parameters`.
    pub vram_used_bytes: BTreeMap<String, u64>,
    /// Pinned host memory: the library's own for copies, and the caller's.
    pub pinned_host_bytes: u64,
    /// Pinned host memory with the parameter sets that do not fit the device beside
    /// a partition.
    pub pinned_parameter_bytes: u64,
    /// Partitions that were streamed: their parameter set crossed the bus behind
    /// the kernels.
    pub streamed: u64,
    /// Bytes copied to the device.
    pub uploaded_bytes: u64,
    /// Retries: partitions and loads that ran again after the device was lost.
    pub retries: u64,
    /// Partitions that moved to another device after this one was lost.
    pub moved: u64,
    /// How often the device was lost and reset.
    pub resets: u64,
}

/// How often partitions went through a stage, and how long that took.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stage {
    /// How often.
    pub count: u64,
    /// The sum of all times, in seconds.
    pub seconds: f64,
}

/// The library's numbers. Those that only a newer library has are in
/// [`metrics_text`] alone.
pub fn metrics() -> Result<Metrics> {
    let text = metrics_text()?;
    let samples = parse(&text).map_err(|line| {
        Error::Internal(format!(
            "the library's metrics hold a line that is none: {line:?}"
        ))
    })?;
    let mut metrics = Metrics::default();
    samples.iter().for_each(|sample| metrics.add(sample));
    Ok(metrics)
}

/// The same in Prometheus' text format, for a scraper to fetch.
/// `docs/observing.md` in the repository lists what is in it.
pub fn metrics_text() -> Result<String> {
    // A counter may grow by a digit between the two calls.
    const SPARE: usize = 256;
    check_abi()?;
    let mut needed = 0;
    // SAFETY: only the number is asked for; it lives through the call.
    check(unsafe { sys::cuzk_metrics(std::ptr::null_mut(), 0, &mut needed) })?;
    loop {
        let mut text = vec![0; needed + SPARE];
        // SAFETY: `text` may be written, as far as its length.
        match check(unsafe { sys::cuzk_metrics(text.as_mut_ptr().cast(), text.len(), &mut needed) })
        {
            // The text has grown by more: `needed` is its size now.
            Err(Error::Size(_)) => continue,
            outcome => outcome?,
        }
        text.truncate(needed - 1); // without the NUL
        return String::from_utf8(text)
            .map_err(|error| Error::Internal(format!("the library's metrics: {error}")));
    }
}

impl Metrics {
    fn add(&mut self, sample: &Sample<'_>) {
        match sample.label("device") {
            None if sample.name == "cuzk_parameter_sets" => {
                self.parameter_sets = sample.count();
            }
            None => {}
            Some(device) => {
                self.device(device, sample).add(sample);
            }
        }
    }

    /// The device that a sample belongs to: a new one for its first sample.
    fn device(&mut self, device: &str, sample: &Sample<'_>) -> &mut DeviceMetrics {
        let known = self.devices.iter().position(|d| d.device == device);
        let index = known.unwrap_or_else(|| {
            self.devices.push(DeviceMetrics {
                device: device.to_owned(),
                name: sample.label("name").unwrap_or_default().to_owned(),
                ..DeviceMetrics::default()
            });
            self.devices.len() - 1
        });
        &mut self.devices[index]
    }
}

impl DeviceMetrics {
    /// Stores a sample. False if no field is for it.
    fn add(&mut self, sample: &Sample<'_>) -> bool {
        let by = |label| sample.label(label).unwrap_or_default().to_owned();
        let stage = |stages: &mut BTreeMap<String, Stage>, set: fn(&mut Stage, &Sample<'_>)| {
            set(stages.entry(by("stage")).or_default(), sample);
            true
        };
        let number = match sample.name {
            "cuzk_device_usable" => {
                self.usable = sample.count() != 0;
                return true;
            }
            "cuzk_workers" => &mut self.workers,
            "cuzk_queue_length" => &mut self.waiting,
            "cuzk_partitions_carried" => &mut self.carried,
            "cuzk_partitions_total" => self.partitions.entry(by("outcome")).or_default(),
            "cuzk_vram_budget_bytes" => &mut self.vram_budget_bytes,
            "cuzk_vram_mapped_bytes" => &mut self.vram_mapped_bytes,
            "cuzk_vram_used_bytes" => self.vram_used_bytes.entry(by("use")).or_default(),
            "cuzk_pinned_host_bytes" => &mut self.pinned_host_bytes,
            "cuzk_pinned_parameter_bytes" => &mut self.pinned_parameter_bytes,
            "cuzk_partitions_streamed_total" => &mut self.streamed,
            "cuzk_uploaded_bytes_total" => &mut self.uploaded_bytes,
            "cuzk_retries_total" => &mut self.retries,
            "cuzk_moved_total" => &mut self.moved,
            "cuzk_device_resets_total" => &mut self.resets,
            "cuzk_stage_seconds_count" => {
                return stage(&mut self.stages, |stage, s| stage.count = s.count());
            }
            "cuzk_stage_seconds_sum" => {
                return stage(&mut self.stages, |stage, s| stage.seconds = s.value);
            }
            _ => return false,
        };
        *number = sample.count();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_go_to_their_devices() {
        let text = r#"# HELP cuzk_parameter_sets Open parameter sets.
cuzk_parameter_sets 2
cuzk_device_usable{device="cuda1",name="H200 \"large\""} 1
cuzk_device_usable{device="cuda0",name="lost"} 0
cuzk_workers{device="cuda1",name="H200 \"large\""} 3
cuzk_queue_length{device="cpu0",name="processor"} 4
cuzk_partitions_total{device="cuda1",name="H200 \"large\"",outcome="done"} 10
cuzk_partitions_total{device="cuda1",name="H200 \"large\"",outcome="failed"} 0
cuzk_stage_seconds_sum{device="cuda1",name="H200 \"large\"",stage="upload"} 2.5
cuzk_stage_seconds_count{device="cuda1",name="H200 \"large\"",stage="upload"} 11
cuzk_vram_budget_bytes{device="cuda1",name="H200 \"large\""} 1.7179869184e+10
cuzk_vram_used_bytes{device="cuda1",name="H200 \"large\"",use="jobs"} 7
cuzk_pinned_parameter_bytes{device="cuda1",name="H200 \"large\""} 8
cuzk_partitions_streamed_total{device="cuda1",name="H200 \"large\""} 9
cuzk_moved_total{device="cuda1",name="H200 \"large\""} 12
cuzk_of_a_newer_library{device="cuda1",name="H200 \"large\""} 5
"#;
        let mut metrics = Metrics::default();
        for sample in parse(text).unwrap() {
            metrics.add(&sample);
        }

        let stage = Stage {
            count: 11,
            seconds: 2.5,
        };
        let cuda = DeviceMetrics {
            device: "cuda1".into(),
            name: "H200 \"large\"".into(),
            usable: true,
            workers: 3,
            partitions: [("done".into(), 10), ("failed".into(), 0)].into(),
            stages: [("upload".into(), stage)].into(),
            vram_budget_bytes: 16 << 30,
            vram_used_bytes: [("jobs".into(), 7)].into(),
            pinned_parameter_bytes: 8,
            streamed: 9,
            moved: 12,
            ..DeviceMetrics::default()
        };
        let lost = DeviceMetrics {
            device: "cuda0".into(),
            name: "lost".into(),
            ..DeviceMetrics::default()
        };
        let cpu = DeviceMetrics {
            device: "cpu0".into(),
            name: "processor".into(),
            waiting: 4,
            ..DeviceMetrics::default()
        };
        assert_eq!(metrics.parameter_sets, 2);
        assert_eq!(metrics.devices, [cuda, lost, cpu]);
    }

    #[test]
    fn every_number_of_a_device_has_its_field() {
        let text = metrics_text().unwrap();
        let samples = parse(&text).unwrap();
        let of_devices: Vec<_> = samples
            .iter()
            .filter(|sample| sample.label("device").is_some())
            .collect();
        assert!(!of_devices.is_empty());
        for sample in of_devices {
            let mut device = DeviceMetrics::default();
            assert!(device.add(sample), "{}", sample.name);
        }
    }

    #[test]
    fn a_device_that_takes_jobs_is_usable() {
        let metrics = metrics().unwrap();
        assert!(metrics.devices.iter().any(|device| device.usable));
    }
}
