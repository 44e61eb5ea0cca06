// Package hnsopen opens HNS for the example plugins: always the real one on
// Windows; elsewhere the emulator with its state in the file that the variable
// HNS_EMULATOR names, so that the processes of a test share one HNS. Plugins of
// other modules need nothing like it: without an Open they speak to the real one.
package hnsopen
