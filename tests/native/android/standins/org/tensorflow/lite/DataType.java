package org.tensorflow.lite;

/** Stand-in for LiteRT's class: the types that exported files have at their borders. */
public enum DataType {
  FLOAT32,
  INT32,
  UINT8,
  INT64,
  STRING,
  BOOL,
  INT16,
  INT8
}
