//! How the binary is linked.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A position-independent program corrects every pointer in its tables when it starts; the packed form of that list
    // is a thirtieth as long, and each page of it that need not be read counts in a start of two milliseconds.
    let linux =
        ["OS", "ENV", "ARCH"].map(|part| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default());
    if linux == ["linux", "gnu", "x86_64"] {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
