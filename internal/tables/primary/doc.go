// Package primary finds the cells of a set of tables that are not safe to publish
// (primary cells), and for each of them the protection interval of the rule that it
// violates: how far from its value the interval that an intruder can infer must reach.
package primary
