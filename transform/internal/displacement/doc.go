// Package displacement computes how far exchanges of values between records that agree in keys and differ in an
// attribute are expected to move the value of each record (Displacer), and how often which records are exchanged
// (Pairing). It knows sizes of groups, and the first and second moments of what other masks do to a value, not the
// masks themselves.
package displacement
