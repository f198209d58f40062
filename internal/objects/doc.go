// Package objects is what the program needs of object storage: ranges of an object that
// must not change while it is read, objects that nobody sees before they are complete,
// and names below a prefix. It knows no protocol; one folder below it a protocol does,
// and registers itself for its scheme.
//
// Object storage has no rename and no folders, so what files have of both is made of two
// things that it has: an upload in parts is invisible until it is completed, and it can
// be completed on the condition that what is under its name is what was there before.
package objects
