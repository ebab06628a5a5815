// Package podtemplate identifies pod templates: two have the same [Sum] if, and only if, the API calls them equal. A
// template with emptyDir: {} differs from one without it.
//
// # Encoding
//
// A sum is the SHA-256 of the template without its metadata in bencode, followed by its metadata in bencode. Bencode
// has one form for each value. A struct is a dictionary of the fields that are set, by their names in JSON. A pointer
// is set if it is not nil; a list or a map if it is not empty; a struct if one of its fields is; anything else if it
// is not its type's zero value. So an update of the API types changes nothing as long as no template sets the new
// fields, and sums can be stored. JSON and protobuf write some fields that are not set, such as resources: {}.  Two
// cases are not covered: a field that was set all along, but that the code knows only since an update, changes the sum
// once; and a field that a new API server sets by default in stored templates counts as set.
package podtemplate
