// Package record has the masks that change each record by itself, in numbers: noise, bias, round, truncate, topcode and
// donut; and sample, which leaves records out. It knows the core and no other mask.
package record
