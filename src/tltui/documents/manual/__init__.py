"""The guide and the glossary inside of the program: markdown that ships with it, as documents like all others."""
