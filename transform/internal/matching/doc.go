// Package matching pairs records that agree in their keys and differ in an attribute (Duncan and Keller-McNulty 2000,
// section 3). It knows codes of keys and attributes, and keyed words.
package matching
