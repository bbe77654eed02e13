//go:build !amd64

package ntt

func vectorMaker() maker { return nil }
