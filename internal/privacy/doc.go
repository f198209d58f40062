// Package privacy computes what differential privacy says of a mask: ε, ρ and δ of mechanisms, of several together, and
// conversions between them. It knows no mask and no column: internal/pipeline decides which mechanism a column has.
//
// All figures are local: a mechanism takes one value, and its figure bounds by how much the law of what is released
// differs between any two values (Kasiviswanathan et al. 2011, "What can we learn privately?", SIAM Journal on
// Computing 40, 793).
//
//	ε     P(y ∈ S | x) ≤ e^ε P(y ∈ S | x′) for all values x, x′ and sets S
//	ε, δ  P(y ∈ S | x) ≤ e^ε P(y ∈ S | x′) + δ
//	ρ     the Rényi divergence of order α is at most ρα for all α > 1: zero-concentrated differential privacy (Bun and
//	      Steinke 2016, "Concentrated differential privacy", TCC 2016-B, definition 1.1)
//
// See docs/methods.md, section 10.
package privacy
