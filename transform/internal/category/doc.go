// Package category has the masks that replace a value by another of a list, an interval or a pseudonym: recode, pram,
// pseudonym and date. It knows the core and no other mask.
package category
