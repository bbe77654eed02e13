package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// narrow is all spans of a strip that are too narrow for a bar, of one colour
// and depth. They are drawn as one line that is as thick as a bar is high, with
// gaps: as bars, the thousands that a timeline has would take a megabyte.
type narrow struct {
	Y, Height float64
	Colour    string
	places    map[int]bool // in parts of a pixel
}

// narrow adds what is too narrow for a bar.
func (l *strip) narrow(b bar) {
	i := slices.IndexFunc(l.Narrow, func(n *narrow) bool { return n.Colour == b.Colour && n.Height == b.Height })
	if i < 0 {
		i = len(l.Narrow)
		l.Narrow = append(l.Narrow, &narrow{Y: b.Y + b.Height/2, Height: b.Height, Colour: b.Colour, places: map[int]bool{}})
	}
	first := int(math.Round(b.X * perPixel))
	for at := range max(int(math.Round(b.Width*perPixel)), 1) {
		l.Narrow[i].places[first+at] = true
	}
}

// Path is the line: a move and a stroke for each run of places.
func (n *narrow) Path() string {
	path := fmt.Sprintf("M0 %g", n.Y)
	end := 0
	places := slices.Sorted(maps.Keys(n.places))
	for i := 0; i < len(places); {
		first, count := places[i], 1
		for i+count < len(places) && places[i+count] == first+count {
			count++
		}
		path += fmt.Sprintf("m%s 0h%s", pixels(first-end), pixels(count))
		end = first + count
		i += count
	}
	return path
}

// pixels is a number of places, in pixels.
func pixels(places int) string {
	return strings.TrimPrefix(fmt.Sprintf("%g", float64(places)/perPixel), "0")
}
