// Package plan divides the work of a partition: which blocks of device memory it
// claims, what lies in them, and how long its list, its tiles and its scratch
// are, in each tier. It is arithmetic: it knows neither driver nor device.
package plan
