// Package apiclient connects to the API server, with a limit of requests for each purpose, names its failures, and
// reads lists in pages that are bounded in bytes.
//
// It has a scheme of only the API groups in use, and the generic client. client-go's typed clientset would take 8 MiB
// more; a linter forbids the import.
package apiclient
