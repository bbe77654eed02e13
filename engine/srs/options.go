package srs

// Options are those that the set was opened with.
func (p *Params) Options() Options { return p.options }
