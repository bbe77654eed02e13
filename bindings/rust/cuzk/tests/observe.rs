//! Metrics and timeline. A file of its own: both are one for a process, and so
//! the tests here take turns.

mod support;

use std::fs;
use std::sync::{Mutex, PoisonError};

use cuzk::{metrics, metrics_text, DeviceMetrics, Error, ProveOptions, Timeline};
use support::{open, Golden};

static TURN: Mutex<()> = Mutex::new(());

fn prove() {
    let golden = Golden::read("two");
    open("two")
        .prove(&golden.partition(), &ProveOptions::new())
        .unwrap();
}

fn total(count: fn(&DeviceMetrics) -> u64) -> u64 {
    metrics().unwrap().devices.iter().map(count).sum()
}

fn done(device: &DeviceMetrics) -> u64 {
    device.partitions["done"]
}

/// Partitions that have gone through the stage.
fn self_checked(device: &DeviceMetrics) -> u64 {
    device
        .stages
        .get("self-check")
        .map_or(0, |stage| stage.count)
}

#[test]
fn metrics_count_what_was_proved() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = (total(done), total(self_checked));
    let srs = open("one");
    prove();
    prove();

    assert_eq!(
        (total(done), total(self_checked)),
        (before.0 + 2, before.1 + 2)
    );
    let now = metrics().unwrap();
    assert!(now.parameter_sets >= 1);
    drop(srs);
    let devices = cuzk::devices().unwrap();
    assert_eq!(now.devices.len(), devices.len());
    for device in &devices {
        let counted = now.devices.iter().find(|counted| {
            counted.name == device.name && counted.device.starts_with(&device.backend)
        });
        let counted = counted.unwrap_or_else(|| panic!("{device:?} is not in {now:?}"));
        assert!(counted.stages.values().all(|stage| stage.seconds >= 0.0));
    }
}

#[test]
fn the_text_says_what_the_struct_says() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    prove();
    let (numbers, text) = (metrics().unwrap(), metrics_text().unwrap());
    assert!(!text.contains('\0') && text.ends_with('\n'));
    for device in &numbers.devices {
        let line = text.lines().find(|line| {
            line.starts_with(&format!(
                "cuzk_partitions_total{{device=\"{}\"",
                device.device
            )) && line.contains("outcome=\"done\"")
        });
        assert!(line.unwrap().ends_with(&format!(" {}", done(device))));
    }
}

#[test]
fn a_timeline_is_recorded_until_it_is_stopped() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();

    let timeline = Timeline::start(folder.path().join("%p.json")).unwrap();
    let path = timeline.path().to_owned();
    let process = std::process::id();
    assert_eq!(path, folder.path().join(format!("{process}.json")));
    // One at a time.
    let second = Timeline::start(folder.path().join("second.json"));
    assert!(matches!(second, Err(Error::Value(_))), "{second:?}");
    prove();
    let json = timeline.stop_and_read().unwrap();

    for span in ["queue", "assemble", "self-check"] {
        assert!(json.contains(&format!("\"name\":\"{span}\"")), "{json}");
    }
    prove();
    assert_eq!(fs::read_to_string(path).unwrap(), json, "it was stopped");
}

#[test]
fn a_timeline_that_is_dropped_is_stopped() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    drop(Timeline::start(folder.path().join("first.json")).unwrap());
    let second = Timeline::start(folder.path().join("second.json")).unwrap();

    assert_eq!(second.stop().unwrap(), folder.path().join("second.json"));
    let first = fs::read_to_string(folder.path().join("first.json")).unwrap();
    assert!(first.starts_with('[') && first.ends_with("]\n"), "{first}");
}

#[test]
fn a_timeline_that_cannot_be_written_says_why() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let error = Timeline::start("no/such/folder/timeline.json").unwrap_err();
    assert!(
        matches!(&error, Error::FileIo(message) if message.contains("no/such/folder")),
        "{error:?}"
    );
    let error = Timeline::start("NUL \0").unwrap_err();
    assert!(matches!(error, Error::Value(_)), "{error:?}");
}
