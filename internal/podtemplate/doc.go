// Package podtemplate identifies pod templates: two have the same [Sum] if, and
// only if, the API calls them equal. Absent and empty lists are the same then,
// and so are 1Gi and 1073741824.
//
// A sum depends only on the fields that are set in a template. An update of the
// API types that adds fields does not change the sums of templates that do not
// set these fields, so sums can be stored.
//
// # Encoding
//
// A sum is the SHA-256 of the template without its metadata in bencode, followed
// by its metadata in bencode. Bencode has one form for each value: numbers are
// i5e, strings 3:web, lists l…e, and dictionaries, with sorted keys, d…e.
//
// A struct is a dictionary of those fields that are set, by their names in JSON.
// A pointer is set if it is not nil, whatever it points to: `emptyDir: {}` is
// set. A list or a map is set if it is not empty, a struct if one of its fields
// is, anything else if it is not its type's zero value. This is what the API can
// distinguish, and it needs no knowledge of particular fields.
package podtemplate
