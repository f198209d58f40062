// Package newmask is a test alone: it registers masks that say nothing of
// themselves, as a new one may that is half done, and holds the whole program
// against them. What a mask does not say must be hidden and refused, never
// published or passed. It is a package of its own because the table of masks is
// read once.
package newmask
