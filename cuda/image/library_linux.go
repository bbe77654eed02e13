package image

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// libraryPath is the file that holds this code: our shared library, or the
// program it is linked into. Source: proc(5), /proc/pid/maps.
func libraryPath() (string, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return "", err
	}
	defer maps.Close()
	here := uint64(reflect.ValueOf(libraryPath).Pointer())
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var start, end uint64
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x ", &start, &end); err != nil || here < start || here >= end {
			continue
		}
		if i := strings.IndexByte(lines.Text(), '/'); i >= 0 {
			return lines.Text()[i:], nil
		}
	}
	return "", fmt.Errorf("no file in /proc/self/maps holds address %#x", here)
}
