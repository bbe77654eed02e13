package image

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/libcuzk/libcuzk/internal/plainfile"
)

// libraryPath is the file that holds this code: our shared library, or the
// program it is linked into. Source: proc(5), /proc/pid/maps.
func libraryPath() (string, error) {
	const limit = 1 << 28 // a line for each of the 65,530 mappings that Linux allows, and more
	maps, err := plainfile.ReadAll("/proc/self/maps", limit)
	if err != nil {
		return "", err
	}
	here := uint64(reflect.ValueOf(libraryPath).Pointer())
	for line := range strings.Lines(string(maps)) {
		var start, end uint64
		if _, err := fmt.Sscanf(line, "%x-%x ", &start, &end); err != nil || here < start || here >= end {
			continue
		}
		if i := strings.IndexByte(line, '/'); i >= 0 {
			return strings.TrimSuffix(line[i:], "\n"), nil
		}
	}
	return "", fmt.Errorf("no file in /proc/self/maps holds address %#x", here)
}
