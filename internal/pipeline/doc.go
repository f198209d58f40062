// Package pipeline has the parts that runs of every kind share: the plan, which says what a
// configuration means for the given source (columns that are decoded, masked, measured and
// released); the passes over the source that find what the masks must know; and the flow of
// blocks through workers and ordered stages. It commits nothing and writes no output: the
// packages below it do, each for one kind of run. It computes no statistics and knows no
// file format.
package pipeline
