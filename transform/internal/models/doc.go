// Package models fits the models that synthetic values are drawn from, each of one column given others: linear and
// multinomial logistic regressions, and trees. It draws nothing.
package models
