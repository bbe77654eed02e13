package main

/*
#cgo CFLAGS: -I${SRCDIR}/../include -std=gnu11 -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: -lpthread
*/
import "C"
