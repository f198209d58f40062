// Package pipeline is what runs of every kind are made of: the plan, which says what a
// configuration means for the source at hand (columns that are decoded, masked, measured
// and released); the passes over the source that settle what the masks must know; and
// the flow of blocks through workers and ordered stages. It commits nothing and writes
// no output: that is for the packages under it, each a kind of run. It holds no
// statistics and knows no file format.
package pipeline
