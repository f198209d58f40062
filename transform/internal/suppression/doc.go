// Package suppression searches for the cells of categorical keys to set missing so that enough released records may be
// that of each respondent: local suppression (Willenborg and de Waal 2001, Elements of Statistical Disclosure Control,
// section 5.3). It knows codes of categories alone.
package suppression
