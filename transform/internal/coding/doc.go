// Package coding takes values of columns, of numbers or of any Arrow type whose values can be compared, and gives them
// codes: equal values equal ones, by column (Coder) and for combinations of columns (Grouping, Combinations). It takes
// values out of Arrow arrays as bytes and puts them at other places (Cell, Place), and packs what was seen for another
// process.
package coding
