package glossary

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// proseWidth is max_line_length of .editorconfig.
const proseWidth = 120

// widthEntry begins a line of pendingFile about the width of a file.
const widthEntry = "width "

// TestProseWidth sees that prose in Markdown is wrapped; tables and code need
// not be. A line "width FILE" in pendingFile exempts a file that is not yet.
func TestProseWidth(t *testing.T) {
	root := os.DirFS("../..")
	pending := parsePending(read(t, root, pendingFile))
	for _, file := range texts(t, root) {
		if path.Ext(file) != ".md" {
			continue
		}
		entry := widthEntry + file
		_, exempt := pending[entry]
		code, n := false, 0
		for line := range strings.Lines(read(t, root, file)) {
			n++
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if code || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") {
				continue
			}
			if width := utf8.RuneCountInString(line); width > proseWidth {
				pending[entry] = true
				if !exempt {
					t.Errorf("%s:%d is %d columns wide, expected at most %d", file, n, width, proseWidth)
				}
			}
		}
		if exempt && !pending[entry] {
			t.Errorf("%s: the line %q is no longer needed", pendingFile, entry)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`)
)

// TestLinks follows the links of documents to files and headings of the
// repository.
func TestLinks(t *testing.T) {
	root := os.DirFS("../..")
	for _, file := range texts(t, root) {
		if path.Ext(file) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(read(t, root, file), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			target := file
			if to != "" {
				target = path.Join(path.Dir(file), to)
			}
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			} else if anchor != "" && !hasHeading(read(t, root, target), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", file, m[1], target)
			}
		}
	}
}

// hasHeading reports whether a page has a heading of that anchor, as GitHub
// makes them.
func hasHeading(page, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		text := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(text, " ", "-") == anchor {
			return true
		}
	}
	return false
}
