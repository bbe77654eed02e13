//! The bench `around` times the library's function from outside: the linker
//! gives every call of it to the bench, and the bench the function itself.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bin=around=-Wl,--wrap=cuzk_generate_groth16_proofs_c8");
}
