// Package dialect understands the annotations of other tools, and finds what people mistyped.
package dialect
