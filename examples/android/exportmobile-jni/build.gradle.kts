// Optional: features from the C++ core, for features-in files. Needs the NDK and CMake.
plugins {
    alias(libs.plugins.android.library)
}

// The folder models_tf/ops/projection, which is also inside of the installed package export-mobile.
val core =
    providers
        .gradleProperty("exportMobileCore")
        .getOrElse(rootDir.resolve("../../models_tf/ops/projection").path)

android {
    namespace = "exportmobile.jni.library"
    compileSdk = 36

    defaultConfig {
        minSdk = 23
        ndk {
            abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64")
        }
        externalNativeBuild {
            cmake {
                arguments += listOf("-DANDROID_STL=c++_static", "-DEXPORT_MOBILE_CORE=$core")
            }
        }
    }

    externalNativeBuild {
        cmake {
            path = file("src/main/cpp/CMakeLists.txt")
        }
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
}

dependencies {
    api(project(":exportmobile"))
}
