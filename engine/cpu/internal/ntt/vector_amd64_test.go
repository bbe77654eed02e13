package ntt

// vectorMaker makes plans with the vector kernels, where the processor has them.
func vectorMaker() maker {
	if HasIFMA {
		return NewVector
	}
	return nil
}
