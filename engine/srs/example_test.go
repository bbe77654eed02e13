package srs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// Open checks what a file says of itself; the points are read, converted and
// checked when they are first asked for.
func Example() {
	c, err := golden.Named("mimc")
	if err != nil {
		log.Fatal(err)
	}
	params, err := srs.Open(c.Params, srs.Options{SubgroupCheck: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = params.Release() }()
	fmt.Printf("%+v\n", params.Counts())
	points, err := params.Points(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(points.H), "points of h on the curve:", points.H[0].IsOnCurve())

	// Output:
	// {IC:2 H:1023 L:645 A:646 BG1:323 BG2:323}
	// 1023 points of h on the curve: true
}

// What Write writes, Open and bellperson read.
func ExampleWrite() {
	c, err := golden.Named("mimc")
	if err != nil {
		log.Fatal(err)
	}
	params, err := srs.Open(c.Params, srs.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = params.Release() }()
	points, err := params.Points(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := srs.Write(&file, params.VerifyingKey(), points); err != nil {
		log.Fatal(err)
	}
	read, err := os.ReadFile(c.Params)
	fmt.Println("the same file:", err == nil && bytes.Equal(read, file.Bytes()))

	// Output:
	// the same file: true
}

// A damaged file is refused, with the place.
func ExampleOpen_damaged() {
	c, err := golden.Named("one")
	if err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(c.Params)
	if err != nil {
		log.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "one.params")
	if err := os.WriteFile(path, data[:len(data)-1], 0o600); err != nil {
		log.Fatal(err)
	}
	_, err = srs.Open(path, srs.Options{})
	fmt.Println("truncated:", errors.Is(err, srs.ErrTruncated))

	// Output:
	// truncated: true
}
