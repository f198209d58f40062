// Package primary finds the cells of a set of tables that may not be published by
// themselves, and how far from its value what an intruder infers of each must
// reach: the protection interval of the rule that it breaks.
package primary
