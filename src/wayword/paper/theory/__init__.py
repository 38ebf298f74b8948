"""The paper's theory, checked in a small world whose truth is known exactly. Arrays only: nothing is drawn here."""
