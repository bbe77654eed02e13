//! The bindings are the header's declarations: every prototype, struct and
//! number of include/cuzk.h, translated to Rust here, is in the sources, and
//! nothing else is. With `repr(C)` that fixes sizes and offsets.

const HEADER: &str = include_str!("../../../../include/cuzk.h");
const FUNCTIONS: &str = include_str!("../src/functions.rs");
const STATUS: &str = include_str!("../src/status.rs");
const TYPES: &str = include_str!("../src/types.rs");

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| {
        let (_, after) = part.split_once("*/").expect("every comment ends");
        code + after
    })
}

/// The header's declarations, each without its semicolon. A struct is one.
fn declarations() -> Vec<String> {
    let code = without_comments(HEADER);
    let lines = code.lines().filter(|line| !line.starts_with('#'));
    let code = lines
        .collect::<Vec<_>>()
        .join(" ")
        .replace("extern \"C\" {", "");
    let mut all = Vec::new();
    let (mut current, mut depth) = (String::new(), 0);
    for c in code.chars() {
        match c {
            '{' => depth += 1,
            // The brace that closes extern "C" opens nothing here.
            '}' if depth == 0 => continue,
            '}' => depth -= 1,
            ';' if depth == 0 => {
                all.push(std::mem::take(&mut current).trim().to_owned());
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    all
}

/// `const char *path` as (`path`, `*const c_char`); arrays too.
fn declarator(text: &str) -> (String, String) {
    let (constant, text) = match text.trim().strip_prefix("const ") {
        Some(rest) => (true, rest),
        None => (false, text.trim()),
    };
    let (kind, name) = text.split_once(' ').expect("a type and a name");
    let base = match kind {
        "char" => "c_char",
        "void" => "c_void",
        "uint8_t" => "u8",
        "uint32_t" => "u32",
        "int32_t" => "i32",
        "uint64_t" => "u64",
        "size_t" => "usize",
        other => other,
    };
    let (name, kind) = if let Some(name) = name.trim().strip_prefix("**") {
        (name, format!("*mut *mut {base}"))
    } else if let Some(name) = name.trim().strip_prefix('*') {
        (
            name,
            format!("*{} {base}", if constant { "const" } else { "mut" }),
        )
    } else if let Some((name, length)) = name.trim().split_once('[') {
        (name, format!("[{base}; {}]", length.trim_end_matches(']')))
    } else {
        (name.trim(), base.to_owned())
    };
    // `fn` is a keyword here.
    (if name == "fn" { "fn_" } else { name }.to_owned(), kind)
}

/// Without white space and the commas that rustfmt adds at line ends.
fn squeezed(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    text.replace(",)", ")").replace(",}", "}")
}

fn prototypes() -> Vec<String> {
    declarations()
        .iter()
        .filter(|d| !d.starts_with("typedef"))
        .map(|d| {
            let (head, arguments) = d.split_once('(').expect("a prototype");
            let (name, result) = declarator(head);
            let arguments: Vec<_> = arguments
                .trim_end_matches(')')
                .split(',')
                .filter(|argument| *argument != "void")
                .map(declarator)
                .map(|(name, kind)| format!("{name}: {kind}"))
                .collect();
            format!("pub fn {name}({}) -> {result};", arguments.join(", "))
        })
        .collect()
}

fn structs() -> Vec<String> {
    declarations()
        .iter()
        .filter_map(|d| d.strip_prefix("typedef struct ")?.split_once('{'))
        .map(|(name, body)| {
            let (body, _) = body.split_once('}').expect("a closing brace");
            let fields: Vec<_> = body.split(';').filter(|f| !f.trim().is_empty()).collect();
            let fields: Vec<_> = fields.into_iter().flat_map(fields_of).collect();
            format!("pub struct {name} {{ {} }}", fields.join(", "))
        })
        .collect()
}

/// `cuzk_fp x, y` are two fields of one type.
fn fields_of(line: &str) -> Vec<String> {
    let mut names = line.split(',');
    let (first, kind) = declarator(names.next().expect("a field"));
    let rest = names.map(|name| name.trim().to_owned());
    std::iter::once(first)
        .chain(rest)
        .map(|name| format!("pub {name}: {kind}"))
        .collect()
}

fn numbers() -> Vec<(String, String)> {
    without_comments(HEADER)
        .lines()
        .filter_map(|line| line.strip_prefix("#define ")?.split_once(' '))
        .map(|(name, value)| {
            let value = value.trim().trim_matches(['(', ')']).trim_end_matches('u');
            (name.to_owned(), value.replace("UINT64_MAX", "u64::MAX"))
        })
        .collect()
}

#[test]
fn every_function_of_the_header_is_declared_and_no_other() {
    let ours = squeezed(FUNCTIONS);
    let prototypes = prototypes();
    for prototype in &prototypes {
        assert!(
            ours.contains(&squeezed(prototype)),
            "missing or different: {prototype}"
        );
    }
    assert_eq!(FUNCTIONS.matches("pub fn ").count(), prototypes.len());
}

#[test]
fn every_struct_has_the_fields_of_the_header_in_their_order() {
    let ours = squeezed(TYPES);
    let structs = structs();
    for text in &structs {
        assert!(
            ours.contains(&squeezed(text)),
            "missing or different: {text}"
        );
    }
    assert_eq!(TYPES.matches("pub struct ").count(), structs.len());
    assert_eq!(TYPES.matches("#[repr(C)]").count(), structs.len());
}

#[test]
fn every_number_of_the_header_has_its_value() {
    let numbers = numbers();
    for (name, value) in &numbers {
        let line = STATUS
            .lines()
            .find(|line| line.starts_with(&format!("pub const {name}:")))
            .unwrap_or_else(|| panic!("{name} is missing"));
        assert!(
            line.ends_with(&format!(" = {value};")),
            "{name} is {value}, got: {line}"
        );
    }
    assert_eq!(STATUS.matches("pub const ").count(), numbers.len());
}

#[test]
fn handles_statuses_and_the_callback_are_the_headers() {
    let typedefs: Vec<String> = declarations()
        .into_iter()
        .filter(|d| d.starts_with("typedef ") && !d.starts_with("typedef struct"))
        .collect();
    assert_eq!(
        typedefs,
        [
            "typedef int32_t cuzk_status",
            "typedef uint64_t cuzk_srs",
            "typedef uint64_t cuzk_job",
            "typedef void (*cuzk_log_fn)(int32_t level, const char *message, void *user)",
        ]
    );
    let ours = squeezed(TYPES);
    assert!(squeezed(STATUS).contains("pubtypecuzk_status=i32;"));
    assert!(ours.contains("pubtypecuzk_srs=u64;") && ours.contains("pubtypecuzk_job=u64;"));
}
