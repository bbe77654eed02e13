//! What docs/migrate.md says of names and versions is so.

use std::collections::BTreeSet;

const MIGRATE: &str = include_str!("../../../../docs/migrate.md");
const SETTINGS: &str = include_str!("../../../../docs/settings.md");
const RUST: &str = include_str!("../../../../docs/rust.md");

/// Names of the library's variables that stand alone between backquotes.
fn variables(text: &str) -> BTreeSet<&str> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| {
            name.starts_with("CUZK_")
                && name
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b == b'_' || b.is_ascii_digit())
        })
        .collect()
}

/// The first column of a page's tables.
fn documented(page: &str) -> BTreeSet<&str> {
    page.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn variables_that_are_recommended_exist() {
    // Curio's fork reads it, and the page says that it is not read here.
    const OTHERS: [&str; 1] = ["CUZK_GPU_THREADS"];
    let (settings, build) = (documented(SETTINGS), documented(RUST));
    let named = variables(MIGRATE);
    assert!(named.len() > 10, "the page was not understood: {named:?}");

    for name in &named {
        let known = settings.contains(name) || build.contains(name);
        assert!(
            known != OTHERS.contains(name),
            "{name} is in docs/migrate.md; in docs/settings.md or docs/rust.md: {known}"
        );
    }
}

#[test]
fn versions_are_those_of_the_crates() {
    for (manifest, versions) in [
        (
            include_str!("../Cargo.toml"),
            &["--precise ", "version = \"="][..],
        ),
        (
            include_str!("../../supraseal-c2-curio/Cargo.toml"),
            &["version = \"="],
        ),
    ] {
        let line = manifest.lines().find(|line| line.starts_with("version = "));
        let version = line.unwrap().split('"').nth(1).unwrap();
        for before in versions {
            assert!(
                MIGRATE.contains(&format!("{before}{version}")),
                "{before}{version}"
            );
        }
        // Below, and not of, the next minor version, or it would not be taken.
        assert!(version.starts_with("0.1.") && version != "0.1.0" && version != "0.1.1");
    }
}

#[test]
fn files_and_commands_that_are_named_are_there() {
    let root = std::path::Path::new("../../..");
    let paths: BTreeSet<_> = MIGRATE
        .split(|c: char| c.is_whitespace() || "`\"();,:".contains(c))
        .filter_map(|word| Some(&word[word.find("bindings/rust/")?..]))
        .chain(MIGRATE.split("](").skip(1).filter_map(|rest| {
            let target = rest.split(['#', ')']).next()?;
            (!target.is_empty() && !target.starts_with("http")).then_some(target)
        }))
        .collect();
    assert!(paths.len() > 4, "the page was not understood: {paths:?}");
    for path in paths {
        let found = root.join(path).exists() || root.join("docs").join(path).exists();
        assert!(found, "{path} is in docs/migrate.md and nowhere else");
    }
}
