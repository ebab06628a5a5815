// Package dialect translates the annotations of other tools (Reloader, wave) into the controller's own, and finds
// annotations that people mistyped.
//
// The translation comes before anything else reads the object: it returns the workload with annotations that its owner
// would have written for this controller, and does the same with a config's policy.  It never modifies the object.
//
//   - The controller's own annotations take precedence. Any "only", "ignore" or "also" replaces all lists of the other
//     tool: a mixture would be something that nobody wrote.
//   - What cannot be translated makes more count, never less.
//   - A workload counts since the other tool's annotation was written, but not before the rules were noted. So at the
//     switch all workloads are only recorded.
//   - With Reloader's search, only configs count that carry its mark match. The filter has the member marked for that,
//     and the record names those that it lacks for want of the mark. When the mark appears, later edits count. When it
//     goes, nothing remembers how long it was there.
package dialect
