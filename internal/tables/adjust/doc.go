// Package adjust changes the values of tables such that every unsafe cell is far enough from its true value and all
// sums hold: controlled tabular adjustment (Dandekar and Cox 2002, "Synthetic tabular data: an alternative to
// complementary cell suppression"; Castro 2006, "Minimum-distance controlled perturbation methods for large-scale
// tabular data protection").
package adjust
