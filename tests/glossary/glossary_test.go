// Package glossary holds the code and the documents to docs/glossary.md.
package glossary

import (
	"bufio"
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// pendingFile has a line "word folder" for each folder whose own files still
// use a word. Lines may be removed, and moved with a folder; none may be added.
const pendingFile = "tests/glossary/pending.txt"

const glossaryFile = "docs/glossary.md"

// notUsed begins the table of the words that are not used.
const notUsed = "## Words not used"

// TestWordsNotUsed fails for a word of the glossary's last table in a folder
// that is not pending, for a pending line that is no longer needed, and for an
// exception that nothing uses.
func TestWordsNotUsed(t *testing.T) {
	root := os.DirFS("../..")
	_, table, found := strings.Cut(read(t, root, glossaryFile), notUsed)
	words := parseWords(table)
	if !found || len(words) == 0 {
		t.Fatalf("%s has no table of words under %q", glossaryFile, notUsed)
	}
	pending := parsePending(read(t, root, pendingFile))
	for _, file := range texts(t, root) {
		text := read(t, root, file)
		if file == glossaryFile {
			text, _, _ = strings.Cut(text, notUsed)
		}
		names := namesOf(text)
		for _, w := range words {
			line := w.firstLine(names)
			if line == 0 || w.stays(file) {
				continue
			}
			entry := w.text + " " + path.Dir(file)
			if _, ok := pending[entry]; ok {
				pending[entry] = true
				continue
			}
			t.Errorf("%s:%d says %q, which the glossary replaces by: %s", file, line, w.text, w.instead)
		}
	}
	for _, entry := range slices.Sorted(maps.Keys(pending)) {
		if !pending[entry] && !strings.HasPrefix(entry, widthEntry) {
			t.Errorf("%s: the line %q is no longer needed", pendingFile, entry)
		}
	}
	for _, w := range words {
		for place, used := range w.places {
			if !used {
				t.Errorf("%s: %q does not occur in %s", glossaryFile, w.text, place)
			}
		}
	}
}

// word is a word or a name that is not used.
type word struct {
	text    string
	parts   []string
	instead string
	names   bool            // only names are looked at: of several parts, or called
	places  map[string]bool // files and folders where it stays; true once seen there
}

// parseWords reads the rows of the table that follows.
func parseWords(table string) []*word {
	var words []*word
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || cells[1] == " not used " || cells[1] == "---" {
			continue
		}
		for text := range strings.SplitSeq(cells[1], ",") {
			w := &word{text: strings.TrimSpace(text), instead: strings.TrimSpace(cells[2]), places: map[string]bool{}}
			w.parts = split(w.text)
			for place := range strings.FieldsSeq(cells[3]) {
				if place == "names" {
					w.names = true
				} else {
					w.places[place] = false
				}
			}
			words = append(words, w)
		}
	}
	return words
}

// stays reports whether the word has another meaning in a file.
func (w *word) stays(file string) bool {
	for place := range w.places {
		if file == place || strings.HasPrefix(file, place+"/") {
			w.places[place] = true
			return true
		}
	}
	return false
}

// name is an identifier or a word of prose.
type name struct {
	line   int
	parts  []string
	called bool // a bracket follows
}

var names = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_]*\(?`)

func namesOf(text string) []name {
	var all []name
	line := 0
	for l := range strings.Lines(text) {
		line++
		for _, s := range names.FindAllString(l, -1) {
			all = append(all, name{line, split(s), strings.HasSuffix(s, "(")})
		}
	}
	return all
}

// firstLine is the number of the first line that uses the word, 0 if none does.
func (w *word) firstLine(names []name) int {
	for _, n := range names {
		if w.in(n.parts) && (!w.names || len(n.parts) > 1 || n.called) {
			return n.line
		}
	}
	return 0
}

// in reports whether the parts of a name use the word, or its plural.
func (w *word) in(parts []string) bool {
	for i := range len(parts) - len(w.parts) + 1 {
		last := i + len(w.parts) - 1
		if slices.Equal(parts[i:last], w.parts[:len(w.parts)-1]) && strings.TrimSuffix(parts[last], "s") == w.parts[len(w.parts)-1] {
			return true
		}
	}
	return false
}

// split is the parts of a name in lower case: tileMost and TILE_MOST are tile,
// most. A part begins at a capital that follows or precedes a small letter.
func split(s string) []string {
	var parts []string
	begin := 0
	for i, c := range s {
		before, after := i > 0 && unicode.IsLower(rune(s[i-1])), i+1 < len(s) && unicode.IsLower(rune(s[i+1]))
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			parts = append(parts, s[begin:i])
			begin = i + 1
		case unicode.IsUpper(c) && (before || after):
			parts = append(parts, s[begin:i])
			begin = i
		}
	}
	parts = append(parts, s[begin:])
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	for i, p := range parts {
		parts[i] = strings.ToLower(p)
	}
	return parts
}

func TestSplit(t *testing.T) {
	for name, want := range map[string]string{
		"tileMost": "tile most", "TILE_MOST": "tile most", "ErrQueueClosed": "err queue closed",
		"cards": "cards", "gpu0": "gpu0", "cuzk_fr": "cuzk fr", "PlanTiledMSM": "plan tiled msm", "MSMTile(": "msm tile",
	} {
		if got := strings.Join(split(name), " "); got != want {
			t.Errorf("%s is split into %q, expected %q", name, got, want)
		}
	}
}

// parsePending reads the pending lines; the values are to tell what is needed.
func parsePending(text string) map[string]bool {
	pending := map[string]bool{}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "#") {
			pending[s.Text()] = false
		}
	}
	return pending
}

// texts are the sources and documents of the repository.
func texts(t *testing.T, root fs.FS) []string {
	t.Helper()
	kinds := []string{".c", ".cpp", ".cu", ".cuh", ".go", ".h", ".md", ".pml", ".rs", ".sh"}
	made := []string{"build", "target", "images", "node_modules"}
	var files []string
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains(made, d.Name())):
			return fs.SkipDir
		case d.Type().IsRegular() && slices.Contains(kinds, path.Ext(p)) && path.Dir(p) != "tests/glossary":
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(files, cmp.Compare)
	return files
}

func read(t *testing.T, root fs.FS, file string) string {
	t.Helper()
	data, err := fs.ReadFile(root, file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
