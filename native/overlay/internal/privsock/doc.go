// Package privsock opens Unix sockets for this process's user and root only.
package privsock
