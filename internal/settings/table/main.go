// Command table prints the table of environment variables for
// docs/settings.md.
package main

import (
	"fmt"

	"github.com/libcuzk/libcuzk/internal/settings"
)

func main() { fmt.Print(settings.Table()) }
