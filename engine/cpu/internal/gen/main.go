// Command gen writes the assembly of the CPU back end: field arithmetic on
// eight elements at a time with AVX-512 IFMA.
//
//	go generate ./engine/cpu/...
package main

import (
	"fmt"
	"os"
)

// files are the makers of the assembly files, by package.
var files = map[string]func() string{"curve": curveFile, "ntt": nttFile}

func main() {
	if len(os.Args) != 3 || files[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: gen curve|ntt FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[2], []byte(files[os.Args[1]]()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
