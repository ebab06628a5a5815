// Package optin has the rules by which workloads opt in, and the grounds on which one did.
package optin
