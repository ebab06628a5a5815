// Package podtemplate identifies pod templates: two have the same [Sum] if, and only if, the API calls them equal. It also tells
// which configs the pods of a template read, for a Deployment that runs another one than its own; see [RunsAnnotation].
//
// # Encoding
//
// A sum is the SHA-256 of the template without its metadata in bencode, followed by its metadata in bencode. Bencode
// has one form for each value. A struct is a dictionary of the fields that are set, by their names in JSON. A pointer
// is set if it is not nil; a list or a map if it is not empty; a struct if one of its fields is; anything else if it is
// not its type's zero value. So new fields of the API that no template sets change nothing, and sums can be stored. Two
// cases are not covered: a field that was set all along, but that the code knows only since an update, changes the sum
// once; and a field that a new API server sets by default in stored templates counts as set.
package podtemplate
