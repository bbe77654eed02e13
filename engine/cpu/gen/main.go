// Command gen writes the assembly of the CPU back end: field arithmetic on
// eight elements at a time with AVX-512 IFMA.
//
//	go run ./engine/cpu/gen curve engine/cpu/curve/zifma_amd64.s
//	go run ./engine/cpu/gen ntt engine/cpu/ntt/zifma_amd64.s
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen curve|ntt FILE")
		os.Exit(2)
	}
	makers := map[string]func() string{"curve": curveFile, "ntt": nttFile}
	make, ok := makers[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "gen: no file %q\n", os.Args[1])
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[2], []byte(make()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
