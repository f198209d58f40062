// Package population estimates how many of a sample's unique combinations of keys are unique in
// the population too, by log-linear models of the counts of a contingency table.
//
// Each cell k of the table of the keys has a sample count f_k and a population count F_k. Given
// f_k = 1, and with Poisson counts of mean λ_k in the population and inclusion probability π_k,
// F_k − 1 is Poisson with mean v_k = λ_k(1 − π_k) (Skinner & Shlomo 2008, section 2), and
//
//	τ₁ = Σ P(F_k = 1 | f_k = 1) = Σ e^−v_k            sample uniques that are population uniques
//	τ₂ = Σ E(1/F_k | f_k = 1)   = Σ (1 − e^−v_k)/v_k   correct matches of sample uniques
//
// over the cells with f_k = 1. λ_k comes from a log-linear model with main effects and listed
// interactions, fitted to all cells of the table, empty ones among them. Type Model lists how.
//
// # Standard errors
//
// The error of τ as a prediction of the number in the population has two parts, whose variances
// are added (in the manner of Rinott & Shlomo 2007): that of the population given the model,
// Σ Var(1{F_k = 1}) and Σ Var(1/F_k) given f_k = 1, and that of the estimated coefficients, by
// the delta method with the information matrix of the fit, for pseudo maximum likelihood with
// the sandwich of it and the weighted scores.
//
// # Differences from sdcMicro
//
// ModRisk holds the two figures that modRisk of the R package sdcMicro (5.8) reports, as it
// defines them. They are not τ₁ and τ₂: it takes the fitted count of the sample for λ_k, without
// dividing it by the inclusion probability, so that risks are far too high where the sample is
// small, and divides both sums by the number of occupied cells. Its PML rounds weighted counts,
// its CE adds 0.1 to the mean inclusion probability of each cell. Where cells of several records
// make its sums 0 × ∞, these cells are left out here, since only unique ones count.
//
// The package computes on columns of codes in memory and does no I/O; no result or error holds a
// respondent's value.
package population
