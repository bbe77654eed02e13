//! The log callback. A file of its own: there is one log in a process.

mod support;

use std::sync::{Arc, Mutex};

use cuzk::{clear_log, set_log, LogLevel, ProveOptions};
use support::{open, Golden};

fn prove() {
    let golden = Golden::read("one");
    open("one")
        .prove(&golden.partition(), &ProveOptions::new())
        .unwrap();
}

#[test]
fn messages_come_while_a_callback_is_set() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    set_log(LogLevel::Debug, move |level, line: &str| {
        seen.lock().unwrap().push((level, line.to_owned()));
    })
    .unwrap();
    prove();

    // A callback that panics loses its message, and that is all.
    set_log(LogLevel::Debug, |_, _| panic!("as any code may")).unwrap();
    assert_eq!(Arc::strong_count(&lines), 1, "the former callback is gone");
    prove();

    clear_log().unwrap();
    prove();
    let lines = lines.lock().unwrap();
    assert!(!lines.is_empty());
    assert!(
        lines
            .iter()
            .all(|(_, line)| !line.is_empty() && !line.contains('\n')),
        "{lines:?}"
    );
}
