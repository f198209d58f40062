// Package gathered is the step of masks that compute with all values of their columns at once: a survey gathers the
// values, a Masker overwrites them, and each record gets its own. It knows no mask.
package gathered
