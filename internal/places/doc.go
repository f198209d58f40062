// Package places computes with points that are given as latitude and longitude or in a plane: distances, displacements,
// and how many people live within them.
package places
